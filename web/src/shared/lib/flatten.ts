/** Nested values by their names with dots; lists and other values as text. */
export function flatten(value: Record<string, unknown>, before = ""): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).flatMap(([key, item]) =>
    item !== null && typeof item === "object" && !Array.isArray(item) ? Object.entries(flatten(item as Record<string, unknown>, `${before}${key}.`)) : [[before + key, item]]));
}
