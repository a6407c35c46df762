import "./tabs.css";

interface Tab {
  key: string;
  title: string;
  href: string;
}

/** Parts of one page; each has an address of its own. */
export function Tabs({ label, tabs, now }: { label: string; tabs: Tab[]; now: string }) {
  return (
    <nav class="tabs unprinted" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.key} href={tab.href} aria-current={tab.key === now ? "page" : undefined}>{tab.title}</a>
      ))}
    </nav>
  );
}
