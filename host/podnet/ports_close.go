package podnet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// connection is a pod that was connected.
type connection struct {
	files []string // its addresses, then its records
	ports bool     // it may have host ports
}

// closePorts has the portmap plugin close the host ports of pods that were killed. Their interfaces go without help.
// The files of a pod whose ports stay open are kept for another try.
func (n *Network) closePorts(ctx context.Context) error {
	connections, err := n.connections()
	if err != nil {
		return fmt.Errorf("look for host ports: %w", err)
	}
	var errs []error
	for id, c := range connections {
		errs = append(errs, n.disconnect(ctx, id, c))
	}
	return errors.Join(append(errs, removeIfEmpty(filepath.Join(n.cache, "results")), removeIfEmpty(n.cache))...)
}

// connections lists the pods that were connected, by their sandboxes. A pod may have ports as long as host-local
// holds an address for it: a kill may leave ports and no record. A whole record without ports proves that the pod
// has none.
func (n *Network) connections() (map[string]connection, error) {
	records, err := filepath.Glob(filepath.Join(n.cache, "results", "*"))
	if err != nil {
		return nil, err
	}
	addresses, err := n.places.addressed()
	if err != nil {
		return nil, err
	}
	connections := map[string]connection{}
	for id, files := range addresses {
		connections[id] = connection{files: files, ports: true}
	}
	for _, file := range records {
		if r, ours := n.places.readRecord(file); ours {
			c := connections[r.ContainerID]
			portless := r.Network == n.places.bridge() && len(r.Arguments.PortMappings) == 0
			connections[r.ContainerID] = connection{append(c.files, file), c.ports && !portless}
		}
	}
	return connections, nil
}

// removeIfEmpty removes a directory unless it is in use.
func removeIfEmpty(dir string) error {
	err := os.Remove(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTEMPTY) ||
		errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EBUSY) {
		return nil
	}
	return err
}
