"""det trial chart: what a trial has reported of its metrics, drawn over batches."""
import json

import pytest
from test_terminal import on_terminal, same_version  # noqa: F401  (fixtures)

UTF8 = {"LANG": "C.UTF-8"}
LOSS = [(100, 0.9), (200, 0.5), (300, 0.3), (400, 0.22), (500, 0.2)]
SECTIONS = {"training": "avg_metrics", "validation": "validation_metrics"}


@pytest.fixture
def reported(master):
    """Has the trial report these: {"GROUP.NAME": [(batches, value), …]}."""

    def report(series):
        summary = {}
        for metric, points in series.items():
            group, name = metric.split(".", 1)
            summary.setdefault(SECTIONS.get(group, group), {})[name] = {"last": points[-1][1], "count": len(points)}
        master.series, master.trial_more = series, {"summaryMetrics": summary}

    return report


def is_braille(text):
    return any("\u2800" < c <= "\u28ff" for c in text)


def test_a_pipe_gets_eighty_columns_without_escape_codes(det, reported):
    reported({"validation.loss": LOSS})
    lines = det("trial", "chart", 12, "validation.loss", **UTF8).splitlines()
    assert len(lines) == 24 and max(map(len, lines)) == 80
    assert is_braille(lines[0]) and "\x1b" not in "".join(lines)
    assert lines[0].startswith("0.9 ┤") and lines[-2].endswith("batches") and "300" in lines[-2]
    assert lines[-1] == "validation.loss: last 0.2, lowest 0.2, highest 0.9"


@pytest.mark.parametrize("columns, rows", [(60, 20), (80, 24), (120, 50)])
def test_a_terminal_is_filled_and_coloured(on_terminal, reported, columns, rows):  # noqa: F811
    reported({"validation.loss": LOSS, "training.loss": LOSS[:-1]})
    lines = on_terminal("trial", "chart", 12, "loss", columns=columns, rows=rows).splitlines()
    assert len(lines) == min(rows - 1, 40) and columns - 2 <= max(map(len, lines)) <= columns
    assert lines[-2:] == ["a training.loss: last 0.22, lowest 0.22, highest 0.9", "b validation.loss: last 0.2, lowest 0.2, highest 0.9"]


def test_letters_where_the_locale_has_no_braille(det, reported):
    reported({"validation.loss": LOSS, "training.loss": LOSS[:-1]})
    shown = det("trial", "chart", 12, "loss", LANG="C")
    assert shown.isascii() and "bb" in shown


def test_a_name_is_looked_for_in_every_group(det, reported, master):
    reported({"validation.loss": LOSS, "training.loss": LOSS, "mine.loss": LOSS, "validation.accuracy": LOSS})
    assert [line[:2] for line in det("trial", "chart", 12, "loss", **UTF8).splitlines()[-3:]] == ["a ", "b ", "c "]
    det("trial", "chart", 12, "mine.loss", "loss", "accuracy")
    assert master.requests[-1][2]["metricIds"] == ["mine.loss", "training.loss", "validation.loss", "validation.accuracy"]


def test_without_a_name_it_is_the_searchers_metric(det, reported):
    reported({"validation.accuracy": LOSS, "validation.loss": LOSS})
    assert det("trial", "chart", 12, **UTF8).splitlines()[-1].startswith("validation.accuracy: last")
    reported({"validation.loss": LOSS})
    done = det.run("trial", "chart", 12)
    assert done.returncode == 0 and done.stdout == ""
    assert "Trial 12 has not reported the searcher's metric accuracy yet. Name one or several of these instead: validation.loss." in done.stderr


def test_an_unknown_metric_is_answered_with_those_that_exist(det, reported):
    reported({"validation.loss": LOSS, "training.loss": LOSS})
    done = det.run("trial", "chart", 12, "los")
    assert done.returncode == 1 and done.stdout == ""
    assert 'trial 12 has not reported a metric "los"; it has reported training.loss, validation.loss' in done.stderr


def test_no_point_and_one_point_are_told_in_a_sentence(det, reported):
    reported({})
    done = det.run("trial", "chart", 12, "loss")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Trial 12 has not reported any metrics yet.\n")
    assert json.loads(det("trial", "chart", 12, "loss", "--json")) == []
    reported({"validation.loss": LOSS[:1]})
    assert det("trial", "chart", 12, "loss") == "validation.loss has one point: 0.9 after 100 batches.\n"


def test_values_that_are_no_numbers_are_counted_and_not_drawn(det, reported):
    reported({"training.loss": [(1, 0.5), (2, "NaN"), (3, "Infinity"), (4, 0.25)]})
    assert det("trial", "chart", 12, "loss").endswith("training.loss: last 0.25, lowest 0.25, highest 0.5\n"
                                                      "2 of 4 values of training.loss are not drawn: not finite numbers.\n")
    reported({"training.loss": [(1, "NaN"), (2, "NaN")]})
    assert "none of its values is a finite number (2)" in det("trial", "chart", 12, "loss")


def test_json_prints_the_points(det, reported, master):
    reported({"training.loss": [(1, 0.5), (2, "NaN"), (3, "-Infinity")]})
    [line] = json.loads(det("trial", "chart", 12, "loss", "--json"))
    assert (line["group"], line["name"]) == ("training", "loss")
    assert [(p["batches"], p["value"]) for p in line["points"]] == [(1, 0.5), (2, "NaN"), (3, "-Infinity")]
    assert line["points"][0]["time"].startswith("2026-11-21T07:12:30")
    assert master.requests[-1][2]["maxDatapoints"] == ["100000"]
