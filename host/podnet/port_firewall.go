package podnet

import (
	"context"
	"errors"
)

// portFirewall holds the rules of the portmap plugin.
type portFirewall interface {
	// list returns the rules in the order in which packets meet them.
	list(ctx context.Context) ([]portRule, error)
	// remove removes rules that list has returned. It may fail if others remove some of them meanwhile.
	remove(ctx context.Context, rules []portRule) error
}

var _, _ portFirewall = nftFirewall{}, iptablesFirewall{}

// portFirewall returns the one that the plugin is told to use.
func (p Places) portFirewall() portFirewall {
	if p.earlier().ports == byIptables {
		return iptablesFirewall{p}
	}
	return nftFirewall{}
}

// removePortRules removes all rules that lead into the node's network, whatever they were made with. None of its pods
// may be left.
func (p Places) removePortRules(ctx context.Context) error {
	view := portView{network: p.bridge(), subnets: append(p.earlier().subnets, bridgeSubnets(p.bridge())...)}
	var errs []error
	for _, f := range []portFirewall{nftFirewall{}, iptablesFirewall{p}} {
		rules, err := f.list(ctx)
		if err == nil {
			remove, _, _ := view.judge(rules)
			err = f.remove(ctx, remove)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
