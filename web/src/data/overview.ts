// The overview is read once for the first page and for the counts beside the navigation.
import { ItemModel } from "./item_model";
import type { Overview } from "./types";

let model: ItemModel<Overview> | null = null;

export function overviewModel(): ItemModel<Overview> {
  model ??= new ItemModel<Overview>("overview", "overview", null);
  return model;
}
