// Package web drives the dashboard in a real browser, on a real node with a real
// runtime: Debian's Chromium, without a window, by playwright-core.
//
// journey.mjs is the story, told by what a user does and sees; steps.mjs has the
// words that it is told in. The test starts the node and gives the browser a
// link. Where the story has the node crash, it asks the test for it by a line of
// output and waits for one of input.
package web
