import { render } from "preact";
import "./style/index.css";
import { App } from "./app";
import { findSession, keepCode } from "./state/session";
import { listen } from "./state/route";
import { applyTheme } from "./state/theme";
import { tick } from "./state/clock";
import { keepUsage } from "./state/usage";

applyTheme();
listen();
tick();
keepUsage();
keepCode();
render(<App />, document.getElementById("app")!);
void findSession();
