package decide

import "nodal/node"

// prune removes runs that no reader needs any more. The newest run of each container and the one before it stay:
// clients ask for their logs and exit codes. A container that a late call made beside one that is alive was never a
// run.
func prune(p *Plan, v *View) bool {
	seen, inSandbox := map[string]int{}, map[string]int{}
	for i := range v.got.Containers {
		c := &v.got.Containers[i]
		inSandbox[c.SandboxID]++
		if c.State == node.ContainerCreated && v.run(c.Name).Alive() {
			p.try(v, remove(c))
			continue
		}
		if seen[c.Name]++; seen[c.Name] > 2 && !c.Alive() {
			p.try(v, remove(c))
		}
	}
	for i := range v.got.Sandboxes {
		s := &v.got.Sandboxes[i]
		if i > 0 && s != v.sandbox && s.Stopped && inSandbox[s.ID] == 0 {
			p.try(v, node.RemoveSandbox{ID: s.ID})
		}
	}
	return false
}
