// Package chance holds what tests that strike at random moments share: pauses of random length, and
// amounts that an environment variable may set.
package chance
