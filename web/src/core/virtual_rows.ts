// Which rows of a long list are in the document.

export const kRowHeight = 32;
export const kMaxRowsInDocument = 60;

export interface RowRange {
  first: number;
  end: number; // one past the last
}

// Rows that a viewport shows, with `margin` rows above and below, at most kMaxRowsInDocument.
export function visibleRows(
  scrollTop: number, viewportHeight: number, total: number, rowHeight = kRowHeight, margin = 6,
): RowRange {
  if (total <= 0) return { first: 0, end: 0 };
  const top = Math.min(Math.max(0, Math.floor(scrollTop / rowHeight)), total - 1);
  const shown = Math.ceil(Math.max(0, viewportHeight) / rowHeight) + 1;
  const room = Math.max(0, kMaxRowsInDocument - shown);
  const above = Math.min(margin, Math.floor(room / 2));
  const first = Math.max(0, top - above);
  const end = Math.min(total, first + Math.min(kMaxRowsInDocument, shown + above + Math.min(margin, room)));
  return { first, end };
}

// The scroll position that shows `row` entirely, moved as little as possible.
export function scrollToRow(
  row: number, scrollTop: number, viewportHeight: number, rowHeight = kRowHeight,
): number {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  const bottom = top + rowHeight;
  return bottom > scrollTop + viewportHeight ? bottom - viewportHeight : scrollTop;
}
