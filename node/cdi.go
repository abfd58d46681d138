package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// CDIOffer says which devices of the machine's CDI specs pods can have, and as what.
type CDIOffer struct {
	Kind     string // vendor.com/class, as in the specs
	Resource corev1.ResourceName
	Shares   int // how many containers can have one device at a time
}

const mostShares = 1000

// ParseCDIOffers reads offers in the form KIND[:as=RESOURCE][:shares=N]. Without a resource it is the kind.
func ParseCDIOffers(texts []string) (offers []CDIOffer, err error) {
	for _, text := range texts {
		words := strings.Split(text, ":")
		offer := CDIOffer{Kind: words[0], Resource: corev1.ResourceName(words[0]), Shares: 1}
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "as":
				offer.Resource = corev1.ResourceName(value)
			case "shares":
				if offer.Shares, err = strconv.Atoi(value); err != nil || offer.Shares < 1 || offer.Shares > mostShares {
					return nil, fmt.Errorf("%q: shares is a number from 1 to %d, not %q", text, mostShares, value)
				}
			default:
				return nil, fmt.Errorf("%q: %q means nothing; write vendor.com/class:as=resource:shares=number", text, word)
			}
		}
		vendor, class, ok := strings.Cut(offer.Kind, "/")
		if !ok || len(validation.IsDNS1123Subdomain(strings.ToLower(vendor))) > 0 || class == "" || strings.Contains(class, "/") {
			return nil, fmt.Errorf("%q: %q is not of the form vendor.com/class; the specs say it as \"kind\"", text, offer.Kind)
		}
		if !CanExtend(string(offer.Resource)) {
			return nil, fmt.Errorf("%q: pods cannot ask for resource %q; name another with as=vendor.com/name", text, offer.Resource)
		}
		if slices.ContainsFunc(offers, func(o CDIOffer) bool { return o.Resource == offer.Resource }) {
			return nil, fmt.Errorf("%q: resource %s is offered already; name another with as=vendor.com/name", text, offer.Resource)
		}
		if slices.ContainsFunc(offers, func(o CDIOffer) bool { return o.Kind == offer.Kind }) {
			return nil, fmt.Errorf("%q: kind %s is offered already; a device belongs to one resource", text, offer.Kind)
		}
		offers = append(offers, offer)
	}
	return offers, nil
}

// CanExtend reports whether a name is that of an extended resource, as Kubernetes has it: of another domain than its own,
// and such that a quota can name it.
func CanExtend(name string) bool {
	domain, _, ok := strings.Cut(name, "/")
	return ok && !strings.Contains(domain, "kubernetes.io") && !strings.HasPrefix(name, "requests.") &&
		len(validation.IsQualifiedName("requests."+name)) == 0
}
