// The state of a list page in its URL: filter words, sort field, time range.

export interface ListQuery {
  filters: string[];
  sort: string; // "field", "-field" or ""
  from: number | null; // ms since 1970
  to: number | null;
}

const kMaxFilters = 20;
const kMaxFilterLength = 300;

export function parseListQuery(params: URLSearchParams): ListQuery {
  const sort = params.get("sort") ?? "";
  return {
    filters: params.getAll("filter").filter((word) => word !== "").slice(0, kMaxFilters)
      .map((word) => word.slice(0, kMaxFilterLength)),
    sort: /^-?[a-z][a-z_]*$/.test(sort) ? sort : "",
    from: parseInstant(params.get("from")),
    to: parseInstant(params.get("to")),
  };
}

function parseInstant(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

// The same parameters for the page's URL and for the API: what is empty is left out.
export function listParams(query: Partial<ListQuery>): URLSearchParams {
  const params = new URLSearchParams();
  for (const word of query.filters ?? []) params.append("filter", word);
  if (query.sort) params.set("sort", query.sort);
  if (query.from != null) params.set("from", String(query.from));
  if (query.to != null) params.set("to", String(query.to));
  return params;
}

// The words of the filter box. A word with spaces is written in double quotes: name:"two words".
export function filterWords(text: string): string[] {
  const words: string[] = [];
  for (const match of text.matchAll(/(?:[^\s"]+|"[^"]*"?)+/g)) {
    const word = match[0].replaceAll('"', "");
    if (word !== "") words.push(word);
  }
  return words.slice(0, kMaxFilters);
}

export function filterText(words: readonly string[]): string {
  return words.map((word) => (/\s/.test(word) ? `"${word}"` : word)).join(" ");
}

// The next sort of a column: descending first for amounts, ascending for names, then the reverse, then none.
export function nextSort(current: string, field: string, amount: boolean): string {
  const first = amount ? `-${field}` : field;
  const second = amount ? field : `-${field}`;
  if (current === first) return second;
  return current === second ? "" : first;
}

export function sortDirection(sort: string, field: string): "ascending" | "descending" | "none" {
  if (sort === field) return "ascending";
  return sort === `-${field}` ? "descending" : "none";
}
