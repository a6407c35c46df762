// Pages that keys lead to: "g" and then one letter. Those whose routes this master does not serve are left out.
import { pages } from "./pages";

export const PLACES = pages.flatMap((page) => (page.nav?.key ? [{ key: page.nav.key, title: page.nav.title, at: page.nav.at }] : []));
