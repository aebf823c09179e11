// The page of one device or share: a script of its own, with charts and forms.
import type { JSX } from "preact";
import { place } from "../data/router";
import { DevicePage } from "./device";
import { SharePage } from "./share";

export function OtherPage(): JSX.Element {
  const { page, id } = place.value;
  return page === "device" ? <DevicePage key={id} id={id} /> : <SharePage key={id} id={id} />;
}
