package plane

import (
	"context"
	"fmt"
	"strings"
)

// scraper is the user of metrics-server.
const scraper User = "metrics-server"

// extension makes the API server pass requests on to metrics-server. It names a service of type
// ExternalName, since nothing here routes to the addresses of services.
const extension = `apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: metrics-server, namespace: kube-system, port: %d}
`

// StartMetrics runs metrics-server as the service account of its own manifests, with their rights.
// It has figures after its second reading of the nodes. nodeCA is the file with the authority of
// the nodes' serving certificates.
func (p *Plane) StartMetrics(ctx context.Context, port int, nodeCA string) error {
	_, err := p.kubectl(ctx, "", "create", "-f", p.Program("metrics-server.yaml"))
	if err != nil {
		return err
	}
	token, err := p.kubectl(ctx, "", "create", "token", "metrics-server", "--namespace=kube-system", "--duration=24h")
	if err != nil {
		return err
	}
	p.tokens[scraper] = strings.TrimSpace(token)
	way, err := p.Kubeconfig(scraper)
	if err != nil {
		return err
	}
	_, err = p.run("metrics-server", "--kubeconfig", way, "--authentication-kubeconfig", way, "--authorization-kubeconfig", way,
		"--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(port), "--cert-dir", p.File("metrics-certs"),
		"--kubelet-certificate-authority", nodeCA, "--kubelet-preferred-address-types", "InternalIP", "--kubelet-use-node-status-port",
		"--kubelet-request-timeout", "9s", "--metric-resolution", "10s")
	if err != nil {
		return err
	}
	_, err = p.kubectl(ctx, fmt.Sprintf(extension, port), "create", "-f", "-")
	return err
}
