package config

import (
	"iter"
	"reflect"
)

// A setting is a field of the configuration file, with its flag.
type setting struct {
	field    string // its path in the file; empty for a flag that is no field
	flag     string // upstream's name for it; empty if there is none
	takenBy  Part   // takes another value while the agent runs, or atStart; empty for flags, which stay the same
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
	{"application-metrics-count-limit", noCadvisor, valued},
	{"boot-id-file", noCadvisor, valued},
	{"container-hints", noCadvisor, valued},
	{"containerd", noCadvisor, valued},
	{"containerd-namespace", noCadvisor, valued},
	{"enable-load-reader", noCadvisor, toggled},
	{"event-storage-age-limit", noCadvisor, valued},
	{"event-storage-event-limit", noCadvisor, valued},
	{"experimental-allocatable-ignore-eviction", "what evictionHard keeps free is never allocatable", toggled},
	{"experimental-mounter-path", "the node mounts by itself, and with the mount.* programs of the machine", valued},
	{"global-housekeeping-interval", noCadvisor, valued},
	{"housekeeping-interval", "usage is measured when it is read", valued},
	{"log-cadvisor-usage", noCadvisor, toggled},
	{"machine-id-file", noCadvisor, valued},
	{"storage-driver-buffer-duration", noCadvisor, valued},
	{"storage-driver-db", noCadvisor, valued},
	{"storage-driver-host", noCadvisor, valued},
	{"storage-driver-password", noCadvisor, valued},
	{"storage-driver-secure", noCadvisor, toggled},
	{"storage-driver-table", noCadvisor, valued},
	{"storage-driver-user", noCadvisor, valued},
}

// noCadvisor stands for flags of a library that upstream's kubelet has run by itself, and has given up in 1.37.
const noCadvisor = "there is no cAdvisor; the node reads the machine's usage itself"

type ignoredFlag struct {
	name, means string
	form        flagForm
}

// flagForm is the form of a flag on the command line.
type flagForm int

const (
	valued  flagForm = iota // --name=value
	toggled                 // --name
)
