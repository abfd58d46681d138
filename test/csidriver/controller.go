package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// controller is the part of the driver that makes volumes, each with a record in the directory of state.
type controller struct {
	csiapi.UnimplementedControllerServer
	*driver
}

// made is the record of a volume that was made.
type made struct {
	Size       int64
	Parameters map[string]string
}

// usualSize is the size of a volume for which none is asked.
const usualSize = 1 << 30

func (c controller) recordOf(volume string) string {
	return filepath.Join(c.state, "made", filepath.Base(volume)+".json")
}

// record reads the record of a volume.
func (c controller) record(volume string) (m made, err error) {
	text, err := os.ReadFile(c.recordOf(volume))
	if errors.Is(err, os.ErrNotExist) {
		return m, grpcstatus.Errorf(codes.NotFound, "there is no volume %s", volume)
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	return m, err
}

func (c controller) keep(volume string, m made) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(c.state, "made"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(c.recordOf(volume), text, 0o644)
}

// ControllerGetCapabilities says that volumes can be made, and can grow.
func (c controller) ControllerGetCapabilities(
	ctx context.Context, _ *csiapi.ControllerGetCapabilitiesRequest,
) (*csiapi.ControllerGetCapabilitiesResponse, error) {
	answer := &csiapi.ControllerGetCapabilitiesResponse{}
	for _, kind := range []csiapi.ControllerServiceCapability_RPC_Type{
		csiapi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, csiapi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
	} {
		answer.Capabilities = append(answer.Capabilities, &csiapi.ControllerServiceCapability{
			Type: &csiapi.ControllerServiceCapability_Rpc{Rpc: &csiapi.ControllerServiceCapability_RPC{Type: kind}},
		})
	}
	return answer, c.asked(ctx, "ControllerGetCapabilities", "")
}

// CreateVolume makes a volume, once for each name. Its parameters become its attributes.
func (c controller) CreateVolume(ctx context.Context, r *csiapi.CreateVolumeRequest) (*csiapi.CreateVolumeResponse, error) {
	if err := has(r.GetName() != "", len(r.GetVolumeCapabilities()) > 0); err != nil {
		return nil, err
	}
	size := r.GetCapacityRange().GetRequiredBytes()
	if size == 0 {
		size = usualSize
	}
	id := fmt.Sprintf("made-%x", sha256.Sum256([]byte(r.GetName())))
	answer := &csiapi.CreateVolumeResponse{Volume: &csiapi.Volume{VolumeId: id, CapacityBytes: size, VolumeContext: attributes(r.GetParameters(), size)}}
	return answer, c.does(ctx, "CreateVolume", id, func() error {
		switch before, err := c.record(id); {
		case err == nil && before.Size != size:
			return grpcstatus.Errorf(codes.AlreadyExists, "volume %s has %d bytes, not %d", r.GetName(), before.Size, size)
		case err == nil || grpcstatus.Code(err) != codes.NotFound:
			return err
		}
		return c.keep(id, made{Size: size, Parameters: r.GetParameters()})
	}, "name="+r.GetName(), fmt.Sprintf("size=%d", size))
}

// attributes returns those of a volume: its parameters, and the size of one in memory.
func attributes(parameters map[string]string, size int64) map[string]string {
	if parameters["medium"] != "memory" {
		return parameters
	}
	return map[string]string{"medium": "memory", "size": fmt.Sprint(size)}
}

// DeleteVolume removes a volume with its files. One that is not there is removed.
func (c controller) DeleteVolume(ctx context.Context, r *csiapi.DeleteVolumeRequest) (*csiapi.DeleteVolumeResponse, error) {
	if err := has(r.GetVolumeId() != ""); err != nil {
		return nil, err
	}
	return &csiapi.DeleteVolumeResponse{}, c.does(ctx, "DeleteVolume", r.GetVolumeId(), func() error {
		if _, err := c.record(r.GetVolumeId()); grpcstatus.Code(err) == codes.NotFound {
			return nil
		}
		return errors.Join(os.RemoveAll(filepath.Join(c.state, "volumes", filepath.Base(r.GetVolumeId()))), os.Remove(c.recordOf(r.GetVolumeId())))
	})
}

// ControllerExpandVolume notes that a volume is larger. The node has to do its part.
func (c controller) ControllerExpandVolume(
	ctx context.Context, r *csiapi.ControllerExpandVolumeRequest,
) (*csiapi.ControllerExpandVolumeResponse, error) {
	if err := has(r.GetVolumeId() != "", r.GetCapacityRange() != nil); err != nil {
		return nil, err
	}
	size := r.GetCapacityRange().GetRequiredBytes()
	answer := &csiapi.ControllerExpandVolumeResponse{CapacityBytes: size, NodeExpansionRequired: true}
	return answer, c.does(ctx, "ControllerExpandVolume", r.GetVolumeId(), func() error {
		m, err := c.record(r.GetVolumeId())
		if err != nil {
			return err
		}
		m.Size = max(m.Size, size)
		return c.keep(r.GetVolumeId(), m)
	})
}

// ValidateVolumeCapabilities confirms whatever is asked of a volume that is there.
func (c controller) ValidateVolumeCapabilities(
	ctx context.Context, r *csiapi.ValidateVolumeCapabilitiesRequest,
) (*csiapi.ValidateVolumeCapabilitiesResponse, error) {
	if err := has(r.GetVolumeId() != "", len(r.GetVolumeCapabilities()) > 0); err != nil {
		return nil, err
	}
	answer := &csiapi.ValidateVolumeCapabilitiesResponse{
		Confirmed: &csiapi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: r.GetVolumeCapabilities()},
	}
	return answer, c.does(ctx, "ValidateVolumeCapabilities", r.GetVolumeId(), func() error {
		_, err := c.record(r.GetVolumeId())
		return err
	})
}

// GetPluginCapabilities says that the driver makes volumes for nodes of some topology, which grow while they are used.
func (d *driver) GetPluginCapabilities(
	ctx context.Context, _ *csiapi.GetPluginCapabilitiesRequest,
) (*csiapi.GetPluginCapabilitiesResponse, error) {
	answer := &csiapi.GetPluginCapabilitiesResponse{}
	for _, kind := range []csiapi.PluginCapability_Service_Type{
		csiapi.PluginCapability_Service_CONTROLLER_SERVICE, csiapi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS,
	} {
		answer.Capabilities = append(answer.Capabilities, &csiapi.PluginCapability{
			Type: &csiapi.PluginCapability_Service_{Service: &csiapi.PluginCapability_Service{Type: kind}},
		})
	}
	online := &csiapi.PluginCapability_VolumeExpansion{Type: csiapi.PluginCapability_VolumeExpansion_ONLINE}
	answer.Capabilities = append(answer.Capabilities, &csiapi.PluginCapability{Type: &csiapi.PluginCapability_VolumeExpansion_{VolumeExpansion: online}})
	return answer, d.asked(ctx, "GetPluginCapabilities", "")
}

// Probe says that the driver is ready.
func (d *driver) Probe(ctx context.Context, _ *csiapi.ProbeRequest) (*csiapi.ProbeResponse, error) {
	return &csiapi.ProbeResponse{}, d.asked(ctx, "Probe", "")
}
