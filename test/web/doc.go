// Package web drives the dashboard in a real browser, on a real node with a real
// runtime: Debian's Chromium, without a window, by playwright-core.
//
//	journey.mjs      what a user does, from the first link to the last deletion
//	weight.mjs       what the first page costs, on a slow machine
//	views.mjs        who sees what, on which screen, and how smoothly
//	flood.mjs        ten thousand lines of a log a second
//	faults.mjs       what goes wrong, and what is meant to do harm
//	screenshots.mjs  the pictures of docs/screenshots, with -screenshots DIRECTORY
//	steps.mjs        the words that these stories are told in
//
// One test starts the node and tells a story after the other, each with a browser
// and links of its own. What a story cannot do itself, such as to have the node
// crash, it asks the test for, by a line of output, and waits for one of input.
//
// Chromium cuts its connections whenever an interface of the machine comes or goes,
// which they do with pods. So a story has a network of its own, with nothing but
// loopback, and a door in it that leads to the node. The kernel takes the network
// away with the story's processes, and these with the test.
package web
