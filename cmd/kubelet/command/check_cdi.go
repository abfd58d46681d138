package command

import (
	"fmt"
	"log/slog"

	"nodal/agent/config"
	"nodal/host/cdi"
	hostruntime "nodal/host/runtime"
	"nodal/node"
	"nodal/node/store"
)

// checkCDI says which devices of --cdi-devices the specs of this machine have, and what is wrong with them.
func checkCDI(c config.CDI) (all []hostruntime.Finding) {
	board := store.NewDevices()
	specs := &cdi.Specs{Dirs: c.Dirs, Offers: c.Offers, Board: board, Log: slog.New(slog.DiscardHandler)}
	specs.Look()
	for _, offer := range c.Offers {
		r := board.Resource(offer.Resource)
		found := hostruntime.Finding{Name: fmt.Sprintf("CDI devices %s: %d of %s", offer.Kind, node.Healthy(r.Devices), offer.Resource), OK: r.Fault == ""}
		if !found.OK {
			found.Problem, found.Remedy = r.Fault, "pods cannot have these devices until then; --cdi-spec-dirs names the directories of specs"
		}
		all = append(all, found)
	}
	return all
}
