// Package config reads the agent's flags and configuration files and resolves them once to plain values.
//
//	defaults  <  --config file  <  --config-dir drop-ins  <  flags given
//	                         |
//	             v1beta1.KubeletConfiguration  ->  Config
//
// Load parses the flags to find the files, decodes and merges the files, fills the rest with defaults, and parses the
// flags a second time over the result. So a flag beats a file only when it was given. The result is checked and copied
// into Config, from which each part of the agent gets its own settings.
//
// The package refuses what it does not know: an unknown field, flag or feature gate, or a duplicate key, stops the start
// with a message that names it. A known setting without an effect is accepted, comes back in Configz, and is named by
// Unhonoured. Told returns all settings, with the file or flag that sets each, and Gates all feature gates.
//
// Reread returns what the files say now, Differences what has changed, and Take the configuration with those changes that
// a running node takes.
//
// Start reading at Load in load.go. settings_table.go has a row for each setting, with its field, flag, default and
// check. gates_table.go has a row for each feature gate of upstream's kubelet, and gates.txt what upstream says of it.
// defaults.go lists where we differ from upstream.
package config
