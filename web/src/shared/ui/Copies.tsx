// A menu with which a table or a chart is taken elsewhere: as CSV or as a picture, into a file or onto the clipboard.
import { csv, fileName, saveAs } from "@shared/lib/save";
import { Icon } from "./icons";
import { type Action, Menu } from "./Menu";
import { say, sayError } from "./Toast";

interface Props {
  /** what is copied, for the file's name and for those who hear the menu */
  name: string;
  rows: () => unknown[][] | Promise<unknown[][]>;
  /** draws the picture; a table has none */
  picture?: () => Promise<Blob>;
}

/** Browsers give pages the clipboard only over TLS and on the machine itself. */
const NO_CLIPBOARD = "The browser lets pages copy over https only; save it instead";

export function Copies({ name, rows, picture }: Props) {
  const table = async () => csv(await rows());
  const refused = navigator.clipboard ? undefined : NO_CLIPBOARD;
  const action = (label: string, perform: () => Promise<void>, why?: string): Action => ({ label, refused: why, perform: () => void perform().catch(sayError) });
  const copied = (what: string) => say(`${what} is on the clipboard.`);
  return (
    <Menu bare label={`Copies of ${name}`} actions={[
      action("Save as CSV", async () => saveAs(fileName(name, "csv"), await table())),
      action("Copy as CSV", async () => { await navigator.clipboard.writeText(await table()); copied("The table"); }, refused),
      ...(picture ? [
        null,
        action("Save as PNG", async () => saveAs(fileName(name, "png"), await picture())),
        action("Copy as PNG", async () => { await navigator.clipboard.write([new ClipboardItem({ "image/png": picture() })]); copied("The picture"); }, refused),
      ] : []),
    ]}>
      <Icon name="save" size={14} />
    </Menu>
  );
}
