// Shown without a session: why, and how to get one. The console says which way in it has.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../core/i18n";
import { type LoginWay, pastedToken } from "../core/scope";
import { type ApiFailure, apiGet, failureFrom } from "../data/api";
import { endedHere, openSession, sessionState, signedOutReason, signIn, takeOpenSession } from "../data/session";
import { Icon, Logo } from "../ui/icons";
import { Loading } from "../ui/states";
import { CopyButton } from "../ui/toolbar";
import { Name } from "../ui/values";

const kMaxToken = 60_000; // a body of the API is at most 64 KiB

export function LoginPage(): JSX.Element {
  const unreachable = sessionState.value === "unreachable";
  const [way, setWay] = useState<LoginWay | null>(null);
  useEffect(() => {
    if (unreachable) return;
    // A console that does not know the question has links.
    apiGet<LoginWay>("login").then(setWay, (error) => {
      if (failureFrom(error).status === 0) sessionState.value = "unreachable";
      else setWay({ login: "link" });
    });
  }, [unreachable]);
  useEffect(() => {
    const onShow = (): void => {
      if (!document.hidden) void takeOpenSession();
    };
    document.addEventListener("visibilitychange", onShow);
    return () => document.removeEventListener("visibilitychange", onShow);
  }, []);
  return (
    <main class="login">
      {unreachable ? <Unreachable /> : way === null ? <Loading rows={3} /> : way.login === "token" ? <TokenForm way={way} /> : way.login === "headers" ? <AtProxy /> : <LinkForm />}
    </main>
  );
}

function Brand(): JSX.Element {
  return <p class="brand"><Logo /><span>Divvy</span></p>;
}

function Reason({ broken }: { broken?: boolean }): JSX.Element | null {
  return signedOutReason.value ? (
    <p class={`notice tone-${broken ? "broken" : "waiting"}`} role="alert">
      <Icon name="warning" /><span>{signedOutReason.value}</span>
    </p>
  ) : null;
}

function Unreachable(): JSX.Element {
  const [busy, setBusy] = useState(false);
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    await openSession(null);
    setBusy(false);
  };
  return (
    <form class="login-box" onSubmit={(event) => void onSubmit(event)}>
      <Brand />
      <h1>{t("login.unreachable")}</h1>
      <Reason broken />
      <p class="muted">{t("login.unreachable_why")}</p>
      <button type="submit" class="button primary" disabled={busy}>{t("action.retry")}</button>
    </form>
  );
}

function AtProxy(): JSX.Element {
  return <div class="login-box"><Brand /><h1>{t("login.to_cluster")}</h1><Reason /><p class="muted">{t("login.headers")}</p></div>;
}

// The token of a pasted link or of a pasted token.
function tokenOf(text: string): string {
  return /[#&]token=([0-9A-Za-z_-]+)/.exec(text)?.[1] ?? text.trim();
}

function LinkForm(): JSX.Element {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    await openSession(tokenOf(text));
    setBusy(false);
  };
  return (
    <form class="login-box" onSubmit={(event) => void onSubmit(event)}>
      <Brand />
      <h1>{t("login.title")}</h1>
      <Reason />
      <p class="muted">{t("login.how")}</p>
      <pre class="command" tabIndex={0} role="group" aria-label={t("login.command")}>divvy console --local</pre>
      <label class="field">
        <span>{t("login.paste")}</span>
        <input value={text} onInput={(event) => setText(event.currentTarget.value)} autocomplete="off" spellcheck={false}
          maxLength={2000} placeholder="http://127.0.0.1:9400/#token=…" />
      </label>
      <button type="submit" class="button primary" disabled={busy || text.trim() === ""}>{t("login.open")}</button>
    </form>
  );
}

function failureText({ code, status, message }: ApiFailure): string {
  const lead = status === 0 ? t("login.unreachable") : code === "busy" ? t("failure.busy") : code === "unavailable" ? t("login.unavailable")
    : status === 401 ? "" : t("failure.other");
  return [lead, message || (status === 401 ? t("login.refused") : status === 0 ? t("login.unreachable_why") : "")].filter(Boolean).join(": ");
}

// The token is in the field only, never in the state of the page; the field is emptied before the request is sent.
function TokenForm({ way: { cluster, command } }: { way: LoginWay }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const [filled, setFilled] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  useEffect(() => {
    if (!busy) field.current?.focus();
  }, [busy]);
  const onInput = (): void => setFilled(pastedToken(field.current?.value ?? "") !== "");
  const onPaste = (event: ClipboardEvent): void => {
    const input = field.current;
    const text = event.clipboardData?.getData("text");
    if (!input || !text) return;
    event.preventDefault();
    input.setRangeText(pastedToken(text), input.selectionStart ?? 0, input.selectionEnd ?? 0, "end");
    onInput();
  };
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const token = pastedToken(field.current?.value ?? "");
    if (busy || token === "" || !field.current) return;
    field.current.value = "";
    setFilled(false);
    setBusy(true);
    setFailure(await signIn(token));
    setBusy(false);
  };
  const text = failure ? failureText(failure) : "";
  return (
    <form class="login-box" onSubmit={(event) => void onSubmit(event)}>
      <Brand />
      <h1>{cluster ? <>{t("login.to")} <Name text={cluster} /></> : t("login.to_cluster")}</h1>
      {endedHere.value && !failure && <Reason />}
      <div class="field">
        <label for="token">{t("login.token")}</label>
        <input id="token" ref={field} type="password" onInput={onInput} onPaste={onPaste} autocomplete="off" autocapitalize="off" spellcheck={false}
          maxLength={kMaxToken} aria-invalid={failure ? true : undefined} aria-describedby={failure ? "token-failure" : undefined} readOnly={busy} />
        {failure && <span class="field-error" id="token-failure" role="alert">{text}</span>}
      </div>
      <button type="submit" class="button primary" disabled={busy || !filled}>{busy ? t("login.busy") : t("login.sign_in")}</button>
      {command && (
        <div>
          <p class="muted">{t("login.command_how")}</p>
          <div class="command-line">
            <pre class="command" tabIndex={0} role="group" aria-label={t("login.command")}>{command}</pre>
            <CopyButton text={() => command} label={t("action.copy")} />
          </div>
        </div>
      )}
      <dl class="login-kinds">
        <dt>{t("way_in.console-token")}</dt><dd>{t("login.console_token")}</dd>
        <dt>{t("way_in.api-token")}</dt><dd>{t("login.api_token")}</dd>
      </dl>
    </form>
  );
}
