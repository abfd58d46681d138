package command

import (
	"fmt"
	"strings"

	"nodal/agent/config"
	hostruntime "nodal/host/runtime"
	"nodal/host/source"
	"nodal/node"
	"nodal/node/admit"
	"nodal/node/intake"
	"nodal/node/offer"
)

// checkManifests says which files of the manifest directory the node would not take, or not all of.
func checkManifests(cfg *config.Config) []hostruntime.Finding {
	path := cfg.Sources.StaticPodPath
	if path == "" {
		return nil
	}
	name := "manifests in " + path
	in := intake.Intake{
		Policy: cfg.Policy,
		Offer:  func() offer.Offer { return offer.Offer{Node: admit.Node{Name: cfg.Node.Name}} },
	}
	if cfg.Cluster.Kubeconfig != "" && !cfg.Sources.Once {
		in.Sources = map[node.Source]string{node.SourceCluster: cfg.Cluster.Kubeconfig}
	}
	checked, err := source.Check(path, in)
	if err != nil {
		return []hostruntime.Finding{{Name: name, Problem: err.Error(), Remedy: "the node waits for it; make it, or name another with --pod-manifest-path"}}
	}
	var findings []hostruntime.Finding
	for _, file := range checked {
		if file.Err != nil {
			findings = append(findings, hostruntime.Finding{
				Name: "manifest " + file.Path, Required: true, Problem: strings.ReplaceAll(file.Err.Error(), "\n", "; "),
				Remedy: "correct it; until then the node takes the rest of it, and keeps what it had",
			})
		}
	}
	if len(findings) == 0 {
		findings = []hostruntime.Finding{{Name: fmt.Sprintf("%s (%d files)", name, len(checked)), OK: true}}
	}
	return findings
}
