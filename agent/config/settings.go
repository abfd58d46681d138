package config

import (
	"errors"
	"iter"
	"reflect"
)

// A setting is a field of the configuration file, with its flag.
type setting struct {
	field    string // its path in the file; empty for a flag that is no field
	flag     string // upstream's name for it; empty if there is none
	fallback any    // the default; nil if it is the zero value, or if setDefaults computes it
	check    check  // nil if every value is good, or if validate checks it with others
	usage    string // of the flag
}

// A section is a heading of --help and the settings under it.
type section struct {
	title    string
	settings []setting
}

// honoured yields the settings that have an effect.
func honoured() iter.Seq[setting] {
	return func(yield func(setting) bool) {
		for _, section := range sections {
			for _, s := range section.settings {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// fieldSettings returns the settings that are fields, by their paths.
func fieldSettings() map[string]setting {
	found := map[string]setting{}
	for s := range honoured() {
		if s.field != "" {
			found[s.field] = s
		}
	}
	for _, s := range idle {
		found[s.field] = s.setting
	}
	return found
}

// fill gives a field that is not set its default. A zero value counts as not set, as upstream has it.
func (s setting) fill(field reflect.Value) {
	if s.fallback == nil || !field.IsZero() {
		return
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	field.Set(reflect.ValueOf(s.fallback).Convert(field.Type()))
}

// separator returns the text between name and value in a flag of pairs: eviction thresholds are written
// memory.available<100Mi.
func (s setting) separator() string {
	if s.flag == "eviction-hard" || s.flag == "eviction-soft" {
		return "<"
	}
	return "="
}

// ignoredFlags occur in real command lines and have no field in the file. They are accepted without effect, and
// Unhonoured names them.
var ignoredFlags = []ignoredFlag{
	{"log-flush-frequency", "each line of the log is written at once"},
	{"runtime-cgroups", "the runtime stays in the cgroup in which it was started"},
	{"vmodule", "one level holds for all files"},
}

type ignoredFlag struct{ name, means string }

// A refusedFlag stops the start, because the node cannot do what it asks for.
type refusedFlag struct{ name, why string }

// refuse returns an error for every value but the empty one.
func (r refusedFlag) refuse(value string) error {
	if value == "" {
		return nil
	}
	return errors.New(r.why)
}

var refusedFlags = []refusedFlag{
	{"lock-file", "lock files are not supported; leave the flag out"},
	{"reserved-memory", "set reservedMemory in the --config file"},
}
