package config

import (
	"reflect"
	"strings"
	"testing"

	"nodal/node/policy"
)

func TestPolicyOfTheFlags(t *testing.T) {
	levels := func(more map[policy.Poster]policy.Level) map[policy.Poster]policy.Level {
		all := map[policy.Poster]policy.Level{policy.Operator: policy.Baseline}
		for poster, level := range more {
			all[poster] = level
		}
		return all
	}
	none := map[string]policy.Level{}
	for _, c := range []struct {
		name string
		args []string
		want policy.Policy
	}{
		{"operators keep to the baseline by default", nil, policy.Policy{Posters: levels(nil), Namespaces: none}},
		{"one flag loosens that", []string{"--pod-security=operator=privileged"},
			policy.Policy{Posters: levels(map[policy.Poster]policy.Level{policy.Operator: policy.Privileged}), Namespaces: none}},
		{"what is given stands beside the default", []string{"--pod-security=namespace/prod=restricted,file=baseline"},
			policy.Policy{
				Posters:    levels(map[policy.Poster]policy.Level{policy.File: policy.Baseline}),
				Namespaces: map[string]policy.Level{"prod": policy.Restricted},
			}},
		{"no privileged containers", []string{"--allow-privileged=false"},
			policy.Policy{Posters: levels(nil), Namespaces: none, NoPrivileged: true}},
		{"sources of the machine's namespaces", []string{"--host-network-sources=file,api", "--host-pid-sources=", "--host-ipc-sources=*"},
			policy.Policy{Posters: levels(nil), Namespaces: none,
				HostNetwork: policy.From{policy.File, policy.Admin, policy.Operator}, HostPID: policy.From{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := load(t, c.args...).Policy; !reflect.DeepEqual(got, c.want) {
				t.Errorf("policy %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestWrongPoliciesStopTheStart(t *testing.T) {
	for flag, want := range map[string]string{
		"--pod-security=operator":               "write operator=baseline",
		"--pod-security=operator=strict":        "privileged, baseline, restricted",
		"--pod-security=root=baseline":          "use one of admin, operator, cluster, file, url",
		"--pod-security=namespace/A_b=baseline": `namespace "A_b"`,
		"--host-pid-sources=etcd":               "use api, cluster, file, url, or *",
	} {
		if _, err := Load([]string{flag}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", flag, err, want)
		}
	}
}
