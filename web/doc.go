// Package web holds the dashboard: a page that shows the node and acts on it through the public
// API, like any other client.
//
//	src/api     types made from the OpenAPI document, requests, watches
//	src/state   the data of the page, as signals: the session, pods, events
//	src/pure    code that is tested without a browser: ANSI, YAML, time, lists
//	src/parts   pieces of pages
//	src/pages   one file a page
//	src/style   colours and sizes as custom properties, then one file a part
//
// build.sh makes dist/app from them, with every file compressed. It is not committed. A Go build
// without it works: the server then shows missing.html, which says what to do. The dashboard needs
// no build tag, unlike the container runtime: a page that was built is always wanted.
//
// Debian 12's Node 18 and npm 9 can build it, and so can newer ones. make test-node builds a copy
// with them and runs the unit tests.
//
// The files contain nothing about a node, so they are public.
package web
