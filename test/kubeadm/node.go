package kubeadm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"time"

	"nodal/test/machine"
	"nodal/test/rig"
)

// prepare starts a machine's kubelet alone, so that kubeadm finds its runtime, imports the images of a node into it, and
// ends the kubelet again. The runtime goes on.
func (c *Cluster) prepare(ctx context.Context, m *machine.Machine, images []string) error {
	if _, err := m.Run(ctx, "systemctl", "start", "kubelet"); err != nil {
		return err
	}
	if err := awaitNode(ctx, m); err != nil {
		return err
	}
	if err := load(ctx, m, func(w io.Writer) error { return rig.Save(w, "busybox") }); err != nil {
		return err
	}
	for program, names := range programs(images) {
		if err := load(ctx, m, func(w io.Writer) error { return c.save(w, program, names) }); err != nil {
			return err
		}
	}
	_, err := m.Run(ctx, "systemctl", "stop", "kubelet")
	return err
}

// save writes the images of a program of the parts.
func (c *Cluster) save(w io.Writer, program string, names map[string]string) error {
	var tools []string
	if program == proxy {
		tools = []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"}
	}
	return rig.SaveProgram(w, filepath.Join(c.Parts, program), names, tools...)
}

// programs returns the names of programs in images of the control plane and its addons, by the references of the images,
// for each program of the parts.
func programs(images []string) map[string]map[string]string {
	found := map[string]map[string]string{}
	for _, reference := range images {
		name, _, _ := strings.Cut(path.Base(reference), ":")
		program := map[string]string{
			"kube-apiserver": "kubernetes", "kube-controller-manager": "kubernetes", "kube-scheduler": "kubernetes", "etcd": "etcd",
			proxy: proxy, dns: dns,
		}[name]
		switch {
		case program == "": // the pause image, which the runtime has
		case found[program] == nil:
			found[program] = map[string]string{reference: name}
		default:
			found[program][reference] = name
		}
	}
	return found
}

// load imports what save writes into a machine's node.
func load(ctx context.Context, m *machine.Machine, save func(io.Writer) error) error {
	out, in := io.Pipe()
	go func() { in.CloseWithError(save(in)) }()
	defer out.Close()
	_, err := ask(ctx, m, http.MethodPost, "/v1/images:import", out)
	return err
}

// subnetsOf returns the subnets from which a node's pods have their addresses.
func subnetsOf(ctx context.Context, m *machine.Machine) ([]string, error) {
	text, err := ask(ctx, m, http.MethodGet, "/v1/node", nil)
	if err != nil {
		return nil, err
	}
	var node struct{ PodCidrs []string }
	err = json.Unmarshal(text, &node)
	return node.PodCidrs, err
}

// awaitNode waits until a machine's node answers.
func awaitNode(ctx context.Context, m *machine.Machine) error {
	for {
		_, err := ask(ctx, m, http.MethodGet, "/v1/node", nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ask sends a request to the node API of a machine.
func ask(ctx context.Context, m *machine.Machine, method, path string, body io.Reader) ([]byte, error) {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // no connection survives a restart
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", m.Path(socket))
		},
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://node"+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/x-tar")
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask node %s: %w", m.Name, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s of node %s: %s: %s", method, path, m.Name, response.Status, text)
	}
	return text, err
}
