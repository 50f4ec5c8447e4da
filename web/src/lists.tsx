/** A list of which only the lines on the screen are drawn. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";

interface Props {
  label: string;
  className: string;
  count: number;
  height: number;
  row: (index: number) => ReactNode;
  /** Returns the class of a row. */
  rowClass?: (index: number) => string;
  /** The row that is chosen, to which the list scrolls when it changes. */
  cursor?: number | undefined;
  choose?: (index: number) => void;
}

export function VirtualList(props: Props) {
  const { label, className, count, height, row, rowClass, cursor, choose } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
  });
  useEffect(() => {
    if (cursor !== undefined && cursor >= 0) rows.scrollToIndex(cursor, { align: "auto" });
  }, [cursor, rows]);
  const id = (index: number) => `${className.split(" ")[0]}-${index}`;
  const move = (by: number) => {
    const next = Math.max(0, Math.min(count - 1, (cursor ?? -1) + by));
    choose?.(next);
    rows.scrollToIndex(next);
  };
  return (
    <div
      ref={scroller}
      className={`list ${className}`}
      role="listbox"
      aria-label={label}
      aria-activedescendant={cursor !== undefined && cursor >= 0 ? id(cursor) : undefined}
      tabIndex={0}
      onKeyDown={(event) => {
        if (!choose) return;
        if (event.key === "ArrowDown") move(1);
        else if (event.key === "ArrowUp") move(-1);
        else return;
        event.preventDefault();
      }}
    >
      <div role="presentation" style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((item) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
          <div
            key={item.key}
            id={id(item.index)}
            role="option"
            tabIndex={-1}
            aria-selected={item.index === cursor}
            className={`item ${rowClass?.(item.index) ?? ""}`}
            style={{ transform: `translateY(${item.start}px)`, height }}
            onClick={() => choose?.(item.index)}
          >
            {row(item.index)}
          </div>
        ))}
      </div>
    </div>
  );
}
