package intake

import "nodal/node"

// permittedPolicy refuses a NetworkPolicy that nothing would hold pods to: its author would take them for protected.
func (in Intake) permittedPolicy(d Delivery) error {
	if d.Object.Kind != node.NetworkPolicy || in.Unheld == nil {
		return nil
	}
	if why := in.Unheld(); why != "" {
		return invalid(d, "kind", "NetworkPolicy would have no effect on this node: "+why)
	}
	return nil
}
