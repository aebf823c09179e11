// Names and texts that users or tenants chose, as they may be shown.

// Control characters, and those that change the direction of what follows: "\u202Egnp.exe" must not read "exe.png".
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const kHidden = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

// The text with each hidden character shown as its code point: "‹202E›gnp.exe". White space becomes a space.
export function visibleText(text: string): string {
  return text.replace(kHidden, (letter) =>
    /[\t\n\r]/.test(letter) ? " " : `‹${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}
