// TanStack's virtualizer as a hook: which rows of a long list are near the window that somebody sees.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer, type VirtualizerOptions } from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

type Options = Pick<VirtualizerOptions<HTMLElement, HTMLElement>, "count" | "estimateSize" | "overscan" | "getScrollElement" | "getItemKey"> & { paddingEnd?: number };

export function useVirtual(options: Partial<Options> & Pick<Options, "count" | "estimateSize" | "getScrollElement">) {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const all: VirtualizerOptions<HTMLElement, HTMLElement> = {
    overscan: 8,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(undefined as never),
    ...options,
  };
  const [virtual] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(all));
  virtual.setOptions(all);
  useLayoutEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => virtual._willUpdate());
  return virtual;
}
