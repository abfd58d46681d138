package rules_test

import (
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"nodal/node"
	"nodal/node/manifest"
)

func decodePolicy(spec string) (*networkingv1.NetworkPolicy, error) {
	text := "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\nspec: " + spec + "\n"
	docs, err := manifest.Decode([]byte(text), manifest.Options{})
	if err != nil {
		return nil, err
	}
	return node.As[*networkingv1.NetworkPolicy](docs[0].Object), nil
}

func TestNetworkPolicyGetsKubernetesDefaults(t *testing.T) {
	for _, c := range []struct {
		spec string
		want []networkingv1.PolicyType
	}{
		{"{podSelector: {}}", []networkingv1.PolicyType{"Ingress"}},
		{"{podSelector: {}, egress: [{ports: [{port: 53}]}]}", []networkingv1.PolicyType{"Ingress", "Egress"}},
		{"{podSelector: {}, policyTypes: [Egress]}", []networkingv1.PolicyType{"Egress"}},
	} {
		p, err := decodePolicy(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Spec.PolicyTypes, c.want) {
			t.Errorf("%s: got types %v, want %v", c.spec, p.Spec.PolicyTypes, c.want)
		}
		for _, rule := range p.Spec.Egress {
			if got := rule.Ports[0].Protocol; got == nil || *got != "TCP" {
				t.Errorf("%s: got protocol %v, want TCP", c.spec, got)
			}
		}
	}
}

func TestNetworkPoliciesFollowKubernetesRules(t *testing.T) {
	for _, c := range []struct{ name, spec, field string }{
		{"a type that is none", "{podSelector: {}, policyTypes: [Sideways]}", "spec.policyTypes[0]"},
		{"too many types", "{podSelector: {}, policyTypes: [Ingress, Egress, Ingress]}", "spec.policyTypes"},
		{"a bad label", "{podSelector: {matchLabels: {a: b c}}}", "spec.podSelector.matchLabels"},
		{"an empty peer", "{podSelector: {}, ingress: [{from: [{}]}]}", "spec.ingress[0].from[0]"},
		{"a block and a selector", "{podSelector: {}, ingress: [{from: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}]}", "spec.ingress[0].from[0]"},
		{"no block", "{podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0}}]}]}", "spec.egress[0].to[0].ipBlock.cidr"},
		{"an exception outside", "{podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/9]}}]}]}", "spec.egress[0].to[0].ipBlock.except[0]"},
		{"an exception of all", "{podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}]}]}", "spec.egress[0].to[0].ipBlock.except[0]"},
		{"port 0", "{podSelector: {}, ingress: [{ports: [{port: 0}]}]}", "spec.ingress[0].ports[0].port"},
		{"a name that is none", "{podSelector: {}, ingress: [{ports: [{port: Web!}]}]}", "spec.ingress[0].ports[0].port"},
		{"a range of a name", "{podSelector: {}, ingress: [{ports: [{port: web, endPort: 9}]}]}", "spec.ingress[0].ports[0].endPort"},
		{"a range without a begin", "{podSelector: {}, ingress: [{ports: [{endPort: 9}]}]}", "spec.ingress[0].ports[0].endPort"},
		{"a range that runs back", "{podSelector: {}, ingress: [{ports: [{port: 9, endPort: 8}]}]}", "spec.ingress[0].ports[0].endPort"},
		{"a protocol that is none", "{podSelector: {}, ingress: [{ports: [{protocol: ICMP}]}]}", "spec.ingress[0].ports[0].protocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := decodePolicy(c.spec); err == nil || !strings.Contains(err.Error(), c.field+": ") {
				t.Errorf("got %v, want a violation at %s", err, c.field)
			}
		})
	}
}
