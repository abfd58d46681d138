package main

import (
	"errors"
	"fmt"

	"github.com/containernetworking/cni/pkg/skel"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/allocator"
	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/disk"
)

// takeAddresses takes one address of each range, and the routes.
func takeAddresses(s *settings, args *skel.CmdArgs, result *current.Result) error {
	return s.eachRange(func(from *allocator.IPAllocator) error {
		address, err := from.Get(args.ContainerID, args.IfName, nil)
		if err != nil {
			err = fmt.Errorf("take an address for the pod: %w", err)
			if len(result.IPs) == 0 {
				return err // what the pod may have is of an earlier call
			}
			return errors.Join(err, giveBack(s, args))
		}
		address.Interface = current.Int(podEnd)
		result.IPs = append(result.IPs, address)
		result.Routes = s.addresses.Routes
		return nil
	})
}

// giveBack gives back the addresses of a pod, whether it has any or not.
func giveBack(s *settings, args *skel.CmdArgs) error {
	var errs []error
	err := s.eachRange(func(from *allocator.IPAllocator) error {
		errs = append(errs, from.Release(args.ContainerID, args.IfName))
		return nil
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("give the pod's addresses back: %w", err)
	}
	return nil
}

// hasAddress reports whether a pod has an address.
func hasAddress(s *settings, args *skel.CmdArgs) (bool, error) {
	store, err := disk.New(s.addresses.Name, s.addresses.DataDir)
	if err != nil {
		return false, fmt.Errorf("open the pods' addresses: %w", err)
	}
	defer store.Close()
	return store.FindByID(args.ContainerID, args.IfName), nil
}

func (s *settings) eachRange(do func(*allocator.IPAllocator) error) error {
	store, err := disk.New(s.addresses.Name, s.addresses.DataDir)
	if err != nil {
		return fmt.Errorf("open the pods' addresses: %w", err)
	}
	defer store.Close()
	for i := range s.addresses.Ranges {
		if err := do(allocator.NewIPAllocator(&s.addresses.Ranges[i], store, i)); err != nil {
			return err
		}
	}
	return nil
}
