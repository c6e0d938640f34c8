//! What `allocate` and `release` say.

use super::Look;
use super::lines::{DRY_RUN, allocated, by_address};
use crate::model::AllocationReport;

/// The report as text; `dry_run` adds that nothing was written.
pub fn render(report: &AllocationReport, look: Look, dry_run: bool) -> String {
    let names = || {
        let lines = report.allocated.iter().chain(&report.released);
        lines.map(|line| line.address.clone()).collect()
    };
    super::render(report, look, names, || {
        let nothing = report.allocated.is_empty() && report.released.is_empty();
        vec![
            allocated(&report.allocated, look),
            by_address("RELEASED", &report.released, look),
            if nothing { "nothing to do\n".to_owned() } else { String::new() },
            if dry_run { DRY_RUN.to_owned() } else { String::new() },
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{allocation, hold, look, machine};
    use super::*;
    use crate::cli::Format;

    #[test]
    fn given() {
        let report = allocation(vec![hold("printer", "10.0.0.9/24")], Vec::new());
        insta::assert_snapshot!(render(&report, look(Format::Table), false), @"
        SYSTEM  KIND  NAMESPACE  NAME     DEVICE  POOL  ADDRESS
        hold    Hold  -          printer  -       dmz   10.0.0.9/24
        ");
        insta::assert_snapshot!(render(&report, look(Format::Wide), true), @"
        SYSTEM  KIND  NAMESPACE  NAME     DEVICE  POOL  ADDRESS      NETWORK
        hold    Hold  -          printer  -       dmz   10.0.0.9/24  dmz

        dry run: nothing was written
        ");
        insta::assert_snapshot!(render(&report, look(Format::Name), false), @"10.0.0.9/24");
        insta::assert_snapshot!(render(&report, look(Format::Json), false), @r#"
        {
          "apiVersion": "mipam.io/v1",
          "kind": "AllocationReport",
          "allocated": [
            {
              "system": "hold",
              "kind": "Hold",
              "namespace": "",
              "name": "printer",
              "device": "",
              "pool": "dmz",
              "address": "10.0.0.9/24",
              "network": "dmz"
            }
          ],
          "released": []
        }
        "#);
    }

    #[test]
    fn freed() {
        let lines = vec![hold("printer", "10.0.0.9/24"), machine("worker-0", "0", "192.168.101.65/23")];
        let report = allocation(Vec::new(), lines);
        insta::assert_snapshot!(render(&report, look(Format::Table), false), @"
        RELEASED           POOL  OWNER                                   DEVICE
        10.0.0.9/24        dmz   Hold/printer                            -
        192.168.101.65/23  lab   Machine/openshift-machine-api/worker-0  0
        ");
        insta::assert_snapshot!(render(&report, look(Format::Wide), false), @"
        RELEASED           POOL  OWNER                                   DEVICE  SYSTEM     NETWORK
        10.0.0.9/24        dmz   Hold/printer                            -       hold       dmz
        192.168.101.65/23  lab   Machine/openshift-machine-api/worker-0  0       openshift  -
        ");
        insta::assert_snapshot!(render(&report, look(Format::Name), false), @"
        10.0.0.9/24
        192.168.101.65/23
        ");
        insta::assert_snapshot!(render(&report, look(Format::Yaml), false), @r#"
        apiVersion: mipam.io/v1
        kind: AllocationReport
        allocated: []
        released:
        - system: hold
          kind: Hold
          namespace: ""
          name: printer
          device: ""
          pool: dmz
          address: 10.0.0.9/24
          network: dmz
        - system: openshift
          kind: Machine
          namespace: openshift-machine-api
          name: worker-0
          device: "0"
          pool: lab
          address: 192.168.101.65/23
        "#);
    }

    #[test]
    fn nothing() {
        let report = allocation(Vec::new(), Vec::new());
        insta::assert_snapshot!(render(&report, look(Format::Table), false), @"nothing to do");
        insta::assert_snapshot!(render(&report, look(Format::Table), true), @"
        nothing to do

        dry run: nothing was written
        ");
    }
}
