package config

import (
	"reflect"
	"strings"
	"testing"

	"nodal/node/audit"
)

func TestAuditLogOfTheFlags(t *testing.T) {
	plain := Audit{
		Path: "/var/lib/x/audit/audit.log", MaxBytes: 64 << 20, Backups: 4, Policy: audit.DefaultPolicy(),
		Fields: audit.Fields{From: true, Object: true, Command: true},
	}
	for _, c := range []struct {
		name   string
		args   []string
		change func(*Audit)
	}{
		{"the default keeps changes, below the root directory", nil, func(*Audit) {}},
		{"another file", []string{"--audit-log-path=/log/a.log", "--audit-log-maxsize=1", "--audit-log-maxbackup=9"}, func(a *Audit) {
			a.Path, a.MaxBytes, a.Backups = "/log/a.log", 1<<20, 9
		}},
		{"levels stand beside the default", []string{"--audit-policy=read=metadata,write=requests", "--audit-policy=exec=off"}, func(a *Audit) {
			a.Policy[audit.Read], a.Policy[audit.Write], a.Policy[audit.Exec] = audit.Metadata, audit.Requests, audit.Off
		}},
		{"fields replace the default", []string{"--audit-fields=groups"}, func(a *Audit) { a.Fields = audit.Fields{Groups: true} }},
		{"requests go through", []string{"--audit-on-failure=allow"}, func(a *Audit) { a.LetThrough = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := plain
			want.Policy = audit.DefaultPolicy()
			c.change(&want)
			if got := load(t, append(c.args, "--root-dir=/var/lib/x")...).Audit; !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestWrongAuditFlagsStopTheStart(t *testing.T) {
	for flag, want := range map[string]string{
		"--audit-policy=write":            "write verb=level",
		"--audit-policy=get=metadata":     "none of admin, denied, exec, read, secrets, write",
		"--audit-policy=write=everything": "none of off, metadata, requests",
		"--audit-fields=argv":             "none of from, groups, object, command",
		"--audit-log-maxsize=0":           "between 1 and",
		"--audit-log-maxbackup=0":         "between 1 and",
		"--audit-on-failure=panic":        "neither refuse nor allow",
	} {
		if _, err := Load([]string{flag}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", flag, err, want)
		}
	}
}
