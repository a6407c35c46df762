-- for labels_rarest_first
CREATE INDEX label_counts_by_label ON label_counts (label, n);
