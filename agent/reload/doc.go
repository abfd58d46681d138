// Package reload follows the configuration files while the agent runs.
//
//	host/configfile, SIGHUP ──▶ Reread ──▶ Differences ─┬─▶ taken: the parts are readied, then all use it at once
//	                              │ error               └─▶ waiting: named in an event and by GET /v1/node
//	                              ▼
//	              rejected: what was in force stays
//
// The Keeper owns the running configuration. It is always one with which an agent could start: that of the start, with
// the later values of those settings that package config says a part takes. A part either reads it whenever it needs a
// value, or has a Taker, which may refuse.
//
// Start reading at Keeper.Reload.
package reload
