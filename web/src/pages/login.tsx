// Shown without a session: why, and how to get one.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { t } from "../core/i18n";
import { openSession, sessionState, signedOutReason } from "../data/session";
import { Icon, Logo } from "../ui/icons";

// The token of a pasted link or of a pasted token.
function tokenOf(text: string): string {
  return /[#&]token=([0-9A-Za-z_-]+)/.exec(text)?.[1] ?? text.trim();
}

export function LoginPage(): JSX.Element {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const unreachable = sessionState.value === "unreachable";
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    await openSession(text ? tokenOf(text) : null);
    setBusy(false);
    // A page that had a session before begins again, with its stream.
    if (sessionState.value === "in") location.reload();
  };
  return (
    <main class="login">
      <form class="login-box" onSubmit={(event) => void onSubmit(event)}>
        <p class="brand"><Logo /><span>Divvy</span></p>
        <h1>{unreachable ? t("login.unreachable") : t("login.title")}</h1>
        {signedOutReason.value && (
          <p class={`notice tone-${unreachable ? "broken" : "waiting"}`} role="alert">
            <Icon name="warning" /><span>{signedOutReason.value}</span>
          </p>
        )}
        <p class="muted">{unreachable ? t("login.unreachable_why") : t("login.how")}</p>
        {!unreachable && <pre class="command" tabIndex={0} role="group" aria-label={t("login.command")}>divvy console --local</pre>}
        {!unreachable && (
          <label class="field">
            <span>{t("login.paste")}</span>
            <input value={text} onInput={(event) => setText(event.currentTarget.value)} autocomplete="off" spellcheck={false}
              maxLength={2000} placeholder="http://127.0.0.1:9400/#token=…" />
          </label>
        )}
        <button type="submit" class="button primary" disabled={busy || (!unreachable && text.trim() === "")}>
          {unreachable ? t("action.retry") : t("login.open")}
        </button>
      </form>
    </main>
  );
}
