// Package web holds the dashboard: a page that shows the node and acts on it
// through the public API, like any other client.
//
//	src/api     types made from the OpenAPI document, requests, watches
//	src/state   what the page knows, as signals: the session, pods, events
//	src/pure    what can be tested without a browser: ANSI, YAML, time, lists
//	src/parts   pieces of pages
//	src/pages   one file a page
//	src/style   colours and sizes as custom properties, then one file a part
//
// build.sh makes dist/app out of them, every file compressed already. It is not
// committed. A Go build without it works: the server then shows missing.html,
// which says what to do. There is no build tag for it, unlike for the container
// runtime: a page that is there is always wanted.
//
// Node 18 and npm 9 of Debian 12 build it, as newer ones do: make test-node does so
// on a copy, and runs the unit tests with them.
//
// The files hold nothing of a node, so anybody may read them.
package web
