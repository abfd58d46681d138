package config

import (
	"reflect"
	"strings"
	"testing"

	"nodal/node/audit"
	"nodal/node/seal"
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

func TestTheKeyOfSecretsIsWhereTheFlagSays(t *testing.T) {
	for flag, want := range map[string]seal.Source{
		"--root-dir=/x":                                {Kind: seal.Beside},
		"--secrets-key=file:/media/key":                {Kind: seal.File, Name: "/media/key"},
		"--secrets-key=credential:secrets-key":         {Kind: seal.Credential, Name: "secrets-key"},
		"--secrets-key=kms:unix:///run/kms/kms.sock":   {Kind: seal.KMS, Name: "/run/kms/kms.sock"},
		"--secrets_key=kms:unix:///run/kms//kms.sock/": {Kind: seal.KMS, Name: "/run/kms/kms.sock"},
	} {
		if got := load(t, flag).Secrets; got != want {
			t.Errorf("%s: got %+v, want %+v", flag, got, want)
		}
	}
	if _, err := Load([]string{"--secrets-key=usb"}); err == nil || !strings.Contains(err.Error(), `--secrets-key: "usb"`) {
		t.Errorf("got %v, want an error that names the flag", err)
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
