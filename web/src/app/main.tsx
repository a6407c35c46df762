import { QueryClientProvider } from "@tanstack/preact-query";
import { render } from "preact";
import { queries } from "@shared/api/query";
import { followLinks } from "@shared/lib/address";
import { applyTheme } from "@shared/lib/theme";
import "@shared/design/base.css";
import { App } from "./App";
import "./shell.css";

applyTheme();
followLinks();
render(
  <QueryClientProvider client={queries}>
    <App />
  </QueryClientProvider>,
  document.getElementById("app")!,
);
