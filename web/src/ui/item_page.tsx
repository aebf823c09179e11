// What pages of one object have in common: path, states, gone, freshness.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { t } from "../core/i18n";
import { idPath } from "../core/paths";
import { ItemModel } from "../data/item_model";
import { hiddenFor } from "../data/session";
import { useRevalidation } from "./fresh";
import { Icon } from "./icons";
import { Failure, Freshness, Hidden, Loading } from "./states";
import { Ago, Name } from "./values";

interface ItemPageProps<T> {
  kind: string; // of the API: devices, shares
  kindTitle: string;
  id: string;
  title(item: T): ComponentChildren;
  lead(item: T): ComponentChildren; // beside the title
  body(item: T, gone: boolean): ComponentChildren;
  action?: ComponentChildren; // at the end of the title's line
}

export function ItemPage<T>(props: ItemPageProps<T>): JSX.Element {
  const { kind, kindTitle, id, title, lead, body, action } = props;
  const model = useMemo(
    () => new ItemModel<T>(kind, `${kind}/${idPath(id)}`, id), [kind, id]);
  useEffect(() => () => model.dispose(), [model]);
  useRevalidation(model);
  const item = model.item.value;
  const failure = model.failure.value;
  const hidden = hiddenFor(kind);
  return (
    <div class="page">
      <nav class="crumbs" aria-label={t("nav.path")}><a href={kind}>{kindTitle}</a><span aria-hidden="true">/</span>{item ? title(item) : <Name text={id} />}</nav>
      <header class="page-head">
        <h1>{item ? title(item) : <Name text={id} />}</h1>
        {item && lead(item)}
        {item && model.state.value !== "gone" && action}
      </header>
      {model.state.value === "gone" && (
        <div class="notices" role="status">
          <p class="notice tone-idle">
            <Icon name="info" />
            <span>{t("state.gone")} <Ago at={model.goneAt.value} />. {failure?.message ?? ""} {t("state.gone_last")}</span>
          </p>
        </div>
      )}
      {model.state.value !== "gone" && <Freshness dataTime={model.dataTime.value} sources={model.sources.value} />}
      {model.state.value === "loading" && <Loading rows={8} />}
      {model.state.value === "failed" && failure && <Failure failure={failure} retry={() => model.refresh()} />}
      {model.state.value === "failed" && hidden && <div class="nothing"><Hidden collection={hidden} /></div>}
      {item && <div class={model.state.value === "gone" ? "stack gone" : "stack"}>{body(item, model.state.value === "gone")}</div>}
    </div>
  );
}
