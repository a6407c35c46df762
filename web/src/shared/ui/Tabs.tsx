import { useEffect, useRef } from "preact/hooks";
import "./tabs.css";

interface Tab {
  key: string;
  title: string;
  href: string;
}

/** Parts of one page; each has an address of its own. */
export function Tabs({ label, tabs, now }: { label: string; tabs: Tab[]; now: string }) {
  const nav = useRef<HTMLElement>(null);
  // On a phone the tabs do not all fit: the one that is open is pushed into sight.
  useEffect(() => {
    const open = nav.current!.querySelector<HTMLElement>("[aria-current]");
    if (open) nav.current!.scrollLeft = open.offsetLeft - (nav.current!.clientWidth - open.offsetWidth) / 2;
  }, [now]);
  return (
    <nav ref={nav} class="tabs unprinted" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.key} href={tab.href} aria-current={tab.key === now ? "page" : undefined}>{tab.title}</a>
      ))}
    </nav>
  );
}
