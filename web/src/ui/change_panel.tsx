// The place of changes on the page of an object: their forms, or in one line why there are none.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t, tOf } from "../core/i18n";
import { ApiFailure } from "../data/api";
import { session } from "../data/session";
import { Failure, Loading } from "./states";
import { Sentence } from "./values";

// An object that is gone keeps what became of its change.
interface FormProps<T> {
  item: T;
  gone: boolean;
}

interface Loaded<T> {
  Form(props: FormProps<T>): JSX.Element;
}

interface ChangePanelProps<T> extends FormProps<T> {
  kind: string; // share, device, node, queue
  load(): Promise<Loaded<T>>; // only a viewer who may change something loads a form
}

const kTitleId = "change-title";

const mayChange = (): boolean => session.value?.can.change ?? false;

// Beside the title of the page: leads to the panel.
function showPanel(): void {
  const title = document.getElementById(kTitleId);
  title?.scrollIntoView({ block: "start" });
  title?.focus({ preventScroll: true });
}

export function ChangeLink(): JSX.Element | null {
  if (!mayChange()) return null;
  return <button type="button" class="button small" onClick={showPanel}>{t("change.what")}</button>;
}

export function ChangePanel<T>({ kind, ...props }: ChangePanelProps<T>): JSX.Element | null {
  if (!session.value) return null;
  if (!mayChange()) {
    const { enabled, how } = session.value.changes;
    return (
      <p class="note">
        {enabled ? t("change.not_allowed") : t("change.off")}
        {how && <>{" "}{t("change.how")} <Sentence text={how} /></>}
      </p>
    );
  }
  return (
    <section class="panel change" aria-labelledby={kTitleId}>
      <div class="panel-head"><h2 id={kTitleId} tabIndex={-1}>{tOf("change.title.", kind)}</h2></div>
      <LazyForm {...props} />
    </section>
  );
}

function LazyForm<T>({ load, ...props }: Omit<ChangePanelProps<T>, "kind">): JSX.Element {
  const [loaded, setLoaded] = useState<Loaded<T> | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => void load().then(setLoaded, () => setFailed(true)), []);
  if (loaded) return <loaded.Form {...props} />;
  return failed ? <Failure failure={new ApiFailure("unreachable", "", 0)} retry={() => location.reload()} /> : <Loading rows={2} />;
}
