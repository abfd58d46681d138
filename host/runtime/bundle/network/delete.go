package main

import (
	"errors"
	"fmt"

	"github.com/containernetworking/cni/pkg/skel"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/containernetworking/plugins/pkg/ip"
	"github.com/containernetworking/plugins/pkg/ns"
)

// remove disconnects a pod. It may be asked again and again.
func remove(args *skel.CmdArgs) error {
	s, err := readSettings(args)
	if err != nil {
		return err
	}
	if s.hasPorts() {
		if err := closePorts(s); err != nil {
			return err
		}
	}
	if args.Netns != "" {
		if err := removeInterface(args.Netns, args.IfName); err != nil {
			return err
		}
	}
	return giveBack(s, args)
}

// removeInterface removes both ends. They went with a namespace that is gone.
func removeInterface(namespace, name string) error {
	err := ns.WithNetNSPath(namespace, func(ns.NetNS) error {
		if err := ip.DelLinkByName(name); err != nil && !errors.Is(err, ip.ErrLinkNotFound) {
			return err
		}
		return nil
	})
	var gone ns.NSPathNotExistErr
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("remove the pod's interface: %w", err)
	}
	return nil
}

// check compares a pod's connection with what add has told of it.
func check(args *skel.CmdArgs) error {
	s, err := readSettings(args)
	if err != nil {
		return err
	}
	if has, err := hasAddress(s, args); err != nil || !has {
		return errors.Join(err, errors.New("the pod has no address"))
	}
	if s.RawPrevResult == nil {
		return errors.New("the result to check is missing")
	}
	if err := version.ParsePrevResult(&s.NetConf); err != nil {
		return err
	}
	result, err := current.NewResultFromResult(s.PrevResult)
	if err != nil {
		return err
	}
	return ns.WithNetNSPath(args.Netns, func(ns.NetNS) error {
		return errors.Join(ip.ValidateExpectedInterfaceIPs(args.IfName, result.IPs), ip.ValidateExpectedRoute(result.Routes))
	})
}
