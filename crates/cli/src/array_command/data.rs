//! Parses a data address from `--data`.

use std::net::IpAddr;
use std::str::FromStr;

use array::AddressConfig;

/// A `--data` value.
#[derive(Clone, Debug)]
pub struct Data(pub AddressConfig);

impl FromStr for Data {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut items = text.split(',');
        let ip = items.next().unwrap_or_default();
        let ip: IpAddr = ip.parse().map_err(|_| format!("{ip:?} is not an IP address"))?;
        // The names are filled in once all addresses are known.
        let mut data = AddressConfig::new(ip, "", "");
        for item in items {
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            let number =
                || value.parse::<u16>().map_err(|_| format!("{name}={value}: not a number up to 65535"));
            match name {
                "subnet" => data.subnet = value.into(),
                "interface" => data.interface = value.into(),
                "prefix" => {
                    data.prefix_bits = value.parse().map_err(|_| format!("prefix={value}: not a number"))?
                }
                "mtu" => data.mtu = u32::from(number()?),
                "nfs" => data.nfs_port = number()?,
                "mount" => data.mount_port = number()?,
                "portmap" => data.portmap_port = number()?,
                "s3" => data.s3_port = number()?,
                "s3-tls" => data.s3_tls_port = Some(number()?),
                "disabled" => data.enabled = false,
                other => return Err(format!("{other:?} is not known; see --help")),
            }
        }
        if usize::from(data.prefix_bits) > if ip.is_ipv4() { 32 } else { 128 } {
            return Err(format!("prefix={}: longer than the address", data.prefix_bits));
        }
        Ok(Self(data))
    }
}
