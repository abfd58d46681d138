package agent

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	clientmetrics "k8s.io/client-go/tools/metrics"

	corev1 "k8s.io/api/core/v1"

	"nodal/agent/cordon"
	"nodal/agent/files"
	"nodal/agent/state"
	"nodal/host/csi"
	"nodal/host/volume"
	"nodal/node"
	"nodal/node/assign"
	"nodal/node/storage"
	"nodal/node/store"
	"nodal/server/audit"
	"nodal/server/metrics"
)

// memory holds the parts that keep something on the disk, and the counters for metrics.
type memory struct {
	state   *state.State
	volumes *volume.Tree
	files   files.Files
	plugins *store.Plugins // which plugins have registered; drivers of volumes are among them
	csi     *csi.Volumes
	keeper  storage.Keeper // binds claims
	counts  *metrics.Agent
	audit   *audit.Log // nil if nothing is kept of requests
	cordon  *cordon.Keeper
}

// open restores the state that the agent before left on the disk.
func open(ctx context.Context, o Options, f facts) (memory, error) {
	cfg := o.Config
	s, err := state.Open(ctx, cfg.Dirs, cfg.Secrets, o.Log)
	if err != nil {
		return memory{}, err
	}
	s.ClearWay()
	kept, err := openAudit(o, s.Store)
	if err != nil {
		return memory{}, errors.Join(err, s.Close())
	}
	closed, err := cordon.Open(cfg.Dirs.Cordon(), s.Events.Add, time.Now)
	if err != nil {
		return memory{}, errors.Join(err, s.Close())
	}
	counts := metrics.NewAgent(cfg.Node.Name, f.cgroups.Version, s.Store.Views)
	counts.Assigns(func() *assign.Rules { return f.offers.Read().Assign })
	if f.cluster != nil {
		clientmetrics.Register(counts.Cluster()) // before there is a client
	}
	keeper := storage.Keeper{
		Name: cfg.Node.Name, Labels: func() map[string]string { return f.offers.Read().Labels },
		Dir: cfg.Dirs.LocalVolumes(), NewUID: uuid.NewUUID,
	}
	board := store.NewPlugins(node.CSIPlugin)
	drivers := csi.New(csi.Config{
		Dir: cfg.Dirs.Staging(), Pods: cfg.Dirs.Pods(), Driver: board.Driver, Secret: s.Store.Object, Called: counts.CSICalled,
	})
	volumes := volume.New(volume.Config{
		Pods: cfg.Dirs.Pods(), Local: keeper.Dir, Objects: s.Store, CSI: drivers,
		Allocatable: func() corev1.ResourceList { return f.offers.Read().Allocatable }, Swept: counts.Swept,
	})
	counts.Volumes(volumes.Plugin)
	s.Adopt(volumes.Adopt)
	return memory{
		state: s, volumes: volumes, plugins: board, csi: drivers,
		files: files.In(cfg.Dirs, cfg.Pods.Logs.Budget, volumes.IsOurs, o.Log), keeper: keeper, counts: counts, audit: kept, cordon: closed,
	}, nil
}
