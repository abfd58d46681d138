// The frame around every page: the node, the navigation, and whether the data is live.
import { useEffect } from "preact/hooks";
import { through, throughName } from "./api/through";
import { AddPage } from "./pages/apply";
import { NodePage } from "./pages/node";
import { PodPage } from "./pages/pod";
import { PodsPage } from "./pages/pods";
import { SignInPage } from "./pages/signin";
import { Icon } from "./parts/icons";
import { KeyHelp } from "./parts/keys";
import { lazily } from "./parts/lazily";
import { Ticking } from "./parts/ticking";
import { Waiting } from "./parts/waiting";
import { now } from "./state/clock";
import { showsCommands } from "./state/commands";
import { link } from "./state/link";
import { keepUp, node, podList } from "./state/live";
import { kindOf } from "./state/objects";
import { hasNeighbours, neighbours } from "./state/neighbours";
import { hrefOf, ownHref, place } from "./state/route";
import { acting, isAdmin, mayAct, session, signInProblem, signOut } from "./state/session";
import { type Theme, theme } from "./state/theme";
import { age } from "./pure/time";
import { titleOf } from "./pure/title";
import type { Kind } from "./pure/kinds";

const ObjectPage = lazily(() => import("./pages/objects").then((m) => m.ObjectPage));
const ObjectsPage = lazily(() => import("./pages/objects").then((m) => m.ObjectsPage));
const LogsPage = lazily(() => import("./pages/logs_many").then((m) => m.LogsPage));
const EventsPage = lazily(() => import("./pages/events").then((m) => m.EventsPage));
const ImagesPage = lazily(() => import("./pages/images").then((m) => m.ImagesPage));
const NodesPage = lazily(() => import("./pages/nodes").then((m) => m.NodesPage));
const TokensPage = lazily(() => import("./pages/tokens").then((m) => m.TokensPage));

export function App() {
  const who = session.value;
  useEffect(() => (who ? keepUp() : undefined), [who]);
  const title = titleOf(who ? place.value.path : [], node.value?.name ?? "Nodal");
  useEffect(() => void (document.title = title), [title]);
  if (who === undefined) return through && signInProblem.value ? <NoWayThrough /> : <Waiting />;
  if (who === null) return <SignInPage />;
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Header />
      {through && <ThroughBanner />}
      <LinkBanner />
      <main id="main" tabIndex={-1}>
        <Page />
      </main>
    </>
  );
}

function Page() {
  const [first, namespace, name, tab] = place.value.path;
  if (first === undefined) return <NodePage />;
  if (first === "pods" && namespace && name) return <PodPage key={`${namespace}/${name}`} namespace={namespace} name={name} tab={tab ?? ""} />;
  if (first === "pods" && !namespace) return <PodsPage />;
  if (first === "logs" && !namespace && session.value?.live) return <LogsPage />;
  if (first === "events" && !namespace) return <EventsPage />;
  if (first === "apply") return <AddPage />;
  if (first === "images") return <ImagesPage />;
  if (first === "nodes" && !namespace && !through && session.value?.live) return <NodesPage />;
  if (first === "tokens" && !namespace && isAdmin.value) return <TokensPage />;
  if (first === "objects" && !namespace) return <ObjectsPage />;
  if (first === "objects" && kindOf(namespace!) && name && tab) return <ObjectPage key={place.value.path.join("/")} kind={namespace as Kind} namespace={name} name={tab} />;
  return (
    <div class="page">
      <h1>There is no such page</h1>
      <p>
        Go to <a href={hrefOf()}>the node</a> or to <a href={hrefOf("pods")}>its pods</a>.
      </p>
    </div>
  );
}

function Header() {
  const first = place.value.path[0];
  const current = (name: string | undefined) => (first === name ? "page" : undefined);
  return (
    <header class="top">
      <a class="brand" href={hrefOf()}>
        <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
          <rect width="32" height="32" rx="7" class="brand-box" />
          <path d="M9 23V9l14 14V9" class="brand-line" />
        </svg>
        <span class="brand-name">{node.value?.name ?? "Nodal"}</span>
      </a>
      <nav aria-label="Pages">
        <a href={hrefOf()} aria-current={current(undefined)}>
          Node
        </a>
        <a href={hrefOf("pods")} aria-current={current("pods")}>
          Pods <span class="count">{podList.value.length || ""}</span>
        </a>
        {session.value?.live && (
          <>
            <a href={hrefOf("images")} aria-current={current("images")}>
              Images
            </a>
            <a href={hrefOf("objects")} aria-current={current("objects")}>
              Objects
            </a>
          </>
        )}
        {isAdmin.value && (
          <a href={hrefOf("tokens")} aria-current={current("tokens")}>
            Tokens
          </a>
        )}
        {acting.value && (
          <a href={hrefOf("apply")} aria-current={current("apply")}>
            Apply
          </a>
        )}
        {hasNeighbours.value && (
          <a href={ownHref("nodes")} aria-current={current("nodes")}>
            Nodes
          </a>
        )}
        <a href="/docs/">Docs</a>
      </nav>
      <div class="top-right">
        <LinkState />
        <ActSwitch />
        {!through && <CommandsSwitch />}
        <KeyHelp />
        <ThemeSwitch />
        <Who />
      </div>
    </header>
  );
}

/** ThroughBanner says that the page is about another node, which stays as it is. */
function ThroughBanner() {
  const own = neighbours.value.find((n) => n.name === throughName);
  return (
    <div class="banner through" role="note">
      You see <strong>{throughName}</strong> through {location.hostname}, as a viewer. <a href={ownHref("nodes")}>All nodes</a>
      {own && (
        <>
          {" · "}
          <a href={`${own.url}${location.pathname.replace(through, "/ui")}`}>Open it itself, to act</a>
        </>
      )}
    </div>
  );
}

function NoWayThrough() {
  return (
    <main class="signin">
      <h1>{throughName} cannot be read</h1>
      <p class="problem" role="alert">{signInProblem.value}</p>
      <p>
        <a href={ownHref("nodes")}>All nodes</a>
      </p>
    </main>
  );
}

/** blink is the time without a connection before the page says so: most connections come back sooner. */
const blink = 2000;

function LinkState() {
  const known = link.value;
  const state = known.state === "lost" && now.value - known.since < blink ? "live" : known.state;
  const words = { live: session.value?.live ? "Live" : "Read-only port", connecting: "Connecting", lost: "Reconnecting", refused: "Live in part" }[state];
  return (
    <span class={`link ${state}`} title={session.value?.live ? "This page is updated by a watch" : "This port has no watches: the page reloads its data every 3 seconds"}>
      <i aria-hidden="true" />
      {words}
    </span>
  );
}

/** LinkBanner says what is out of date, since when, and what the page does about it. */
function LinkBanner() {
  const { state, since, problem, old } = link.value;
  if (state === "refused") {
    return (
      <div class="banner warn" role="status">
        <strong>You have no access to: {old.join(", ")}.</strong> {problem} Reload the page once you have access.
      </div>
    );
  }
  if (state !== "lost" || now.value - since < blink) return null;
  return (
    <div class="banner warn" role="status">
      <strong>{old.length ? `Not kept up to date: ${old.join(", ")}.` : "The node cannot be reached."}</strong> {problem} What you see {old.length > 0 && "of that "}is <Ticking>{age(now.value - since)}</Ticking> old; the page asks again and goes on where it stopped{old.length === 0 && " as soon as the node is back"}.
    </div>
  );
}

/** ActSwitch has the present state as its name, so it is not an aria toggle with the values true and false. */
function ActSwitch() {
  if (!mayAct.value) return null;
  const on = acting.value;
  return (
    <button
      type="button"
      class={on ? "act on" : "act"}
      aria-label={on ? "Acting" : "Read-only"}
      title={on ? "Hide actions that change things" : "Show actions that change things: apply, restart, delete, terminals"}
      onClick={() => (acting.value = !on)}
    >
      <Icon name={on ? "unlock" : "lock"} />
      <span>{on ? "Acting" : "Read-only"}</span>
    </button>
  );
}

/** CommandsSwitch has all pages show how other clients do the same, or none. */
function CommandsSwitch() {
  const on = showsCommands.value;
  return (
    <button type="button" class="quiet only-icon keys" aria-label="Other clients" aria-pressed={on} title={on ? "Hide the commands of curl, grpcurl and kubectl" : "Show the same with curl, grpcurl and kubectl"} onClick={() => (showsCommands.value = !on)}>
      <Icon name="code" />
    </button>
  );
}

const themes: Record<Theme, { next: Theme; icon: "sun" | "moon" | "system"; words: string }> = {
  system: { next: "light", icon: "system", words: "Theme: system" },
  light: { next: "dark", icon: "sun", words: "Theme: light" },
  dark: { next: "system", icon: "moon", words: "Theme: dark" },
};

function ThemeSwitch() {
  const { next, icon, words } = themes[theme.value];
  return (
    <button type="button" class="quiet only-icon" title={words} aria-label={words} onClick={() => (theme.value = next)}>
      <Icon name={icon} />
    </button>
  );
}

function Who() {
  const who = session.value;
  if (!who || who.via === "anonymous") return null;
  return (
    <span class="who" title={`${who.name}, known by ${who.via}`}>
      <span>{who.role}</span>
      {who.via === "session" && (
        <button type="button" class="quiet" aria-label="Sign out" onClick={() => void signOut()}>
          <Icon name="out" /> <span>Sign out</span>
        </button>
      )}
    </span>
  );
}
