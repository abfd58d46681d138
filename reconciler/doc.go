// Package reconciler drives the machine towards what the store wants.
//
// One Loop owns a Track for each pod. A track holds what is wanted and what
// was last observed, asks package decide for a plan, and folds the outcome of
// each action back into the observation. The loop knows what counts as news and
// which pod gets a turn. Both are plain code without goroutines, and the simulation
// runs the same code. Reconciler drives the loop in real time: actions run in goroutines
// of their own, one call each. An idle pod costs a map entry and nothing else.
//
//	store ──intent──▶ Loop ─▶ Track ──decide.Pod──▶ Hands ──▶ runtime, logs, store
//	                    ▲                                  │
//	                    └────── outcome, observation ──────┘
//
// A thing that does not belong to a single pod is an asset of the node: a plugin, or a
// volume whose claim was deleted, and whose files have to go before its record. An
// AssetTrack follows it in the same way. The loop is given a list of kinds and knows none
// by name. Each is one value, a KindOf, in a file of its own (asset_plugin.go): it says
// which assets are needed, what rings when that changes, how to look at one, what to do
// next (a function in package decide) and how.
//
// Two rules keep all this correct, and both live in course.go:
//
//   - A track decides only on an observation that is newer than its own last
//     effect. The reply to a call counts as an observation of what it reports;
//     any error makes the track unsure, and it observes first.
//   - No two actions work on one target at a time.
//
// Nothing is removed as unknown before every pod source has delivered (heard.go).
//
// Beside the loop, Vitals look at the node itself: whether its runtime answers, and what it runs short of.
//
// Start reading at Track, then at Loop.Turn, then at Reconciler.Run.
package reconciler
