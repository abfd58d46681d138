// Package web tests the dashboard in a real browser, on a real node with a real runtime. The
// browser is Debian's headless Chromium, driven by playwright-core.
//
//	journey.mjs      a user's way with one pod, from the first link to its deletion
//	journey_node.mjs what a user does with several pods and with the node itself
//	desk.mjs         what helps with many pods: groups, files, long logs, debugging, edits beside others
//	weight.mjs       the cost of the first page, on a slow machine
//	views.mjs        views for each role and screen, and how smooth they are
//	flood.mjs        ten thousand lines of a log a second
//	nodes.mjs        two nodes in one window
//	faults.mjs       errors and hostile input
//	screenshots.mjs  the pictures of docs/screenshots, with -screenshots DIRECTORY
//	steps.mjs        the steps that all stories share
//
// One test starts the node and runs one story after the other, each with its own browser and links.
// A story asks the test for what it cannot do itself, such as a crash of the node: it writes a line
// of output and waits for a line of input.
//
// Chromium drops its connections whenever a network interface appears or disappears, as interfaces
// of pods do. So a story runs in a network namespace with nothing but loopback, and a door in it
// leads to the node. The kernel removes the namespace with the story's processes, and ends these
// with the test.
package web
