// An answer of the API that is read once, and again on demand or when `key` changes.
import { useEffect, useState } from "preact/hooks";
import { type ApiFailure, apiGet, failureFrom, isAborted } from "./api";

export interface AnswerState<T> {
  answer: T | null;
  failure: ApiFailure | null;
  reload(): void;
}

export function useAnswer<T>(path: string, key = ""): AnswerState<T> {
  const [answer, setAnswer] = useState<T | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    apiGet<T>(path, undefined, abort.signal).then((value) => {
      setAnswer(value);
      setFailure(null);
    }, (error) => {
      if (!isAborted(error) && !abort.signal.aborted) setFailure(failureFrom(error));
    });
    return () => abort.abort();
  }, [path, key, turn]);
  return { answer, failure, reload: () => setTurn(turn + 1) };
}
