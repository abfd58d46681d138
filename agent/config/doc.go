// Package config reads the daemon's flags and configuration files and
// resolves it once to plain values.
//
//	defaults  <  --config file  <  --config-dir drop-ins  <  flags given
//	                         |
//	             v1beta1.KubeletConfiguration  ->  Config
//
// Load is the way through: it parses the flags to find the files, decodes and
// merges the files, fills what is left with defaults, and parses the flags a
// second time over the result, so that a flag beats a file only when it was
// given. What comes out is checked and copied into Config, the only thing the
// rest of the daemon sees.
//
// The package refuses what it does not know: an unknown field, a duplicate key,
// an unknown flag and an unknown feature gate each stop the start with a
// message that names them. What it knows but the daemon does not act on yet is
// accepted, comes back in Configz, and is named by Unhonoured.
//
// Start reading at Load in load.go; defaults.go lists where we differ from
// upstream, and honoured.go which fields have an effect.
package config
