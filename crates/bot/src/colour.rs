//! Bright colours for the typing indicator (section 8).

use crate::settings::Limits;

/// A colour as `#RRGGBB`. The three chances are numbers from 0 to 1; each picks a place in its range.
pub fn bright(limits: &Limits, chances: [f64; 3]) -> String {
    let within = |low: f64, high: f64, chance: f64| (low + (high - low) * chance).clamp(0.0, 1.0);
    let hue = within(limits.color_hue_min, limits.color_hue_max, chances[0]);
    let saturation = within(limits.color_saturation_min, limits.color_saturation_max, chances[1]);
    let lightness = within(limits.color_lightness_min, limits.color_lightness_max, chances[2]);
    let [red, green, blue] = rgb(hue, saturation, lightness);
    format!("#{red:02X}{green:02X}{blue:02X}")
}

fn rgb(hue: f64, saturation: f64, lightness: f64) -> [u8; 3] {
    let chroma = (1.0 - (2.0 * lightness - 1.0).abs()) * saturation;
    let base = lightness - chroma / 2.0;
    let channel = |shift: f64| {
        let place = (hue * 6.0 + shift).rem_euclid(6.0);
        // Rises over one sixth of the circle, stays for two, falls over one, and is nothing for the last two.
        let share = (2.0 - (place - 3.0).abs()).clamp(0.0, 1.0);
        ((base + chroma * (1.0 - share)) * 255.0).round() as u8
    };
    [channel(0.0), channel(4.0), channel(2.0)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_colours_come_out_right() {
        let hex = |hue: f64, saturation, lightness| {
            rgb(hue, saturation, lightness).map(|value| format!("{value:02X}")).concat()
        };
        assert_eq!(hex(0.0, 1.0, 0.5), "FF0000");
        assert_eq!(hex(1.0 / 3.0, 1.0, 0.5), "00FF00");
        assert_eq!(hex(2.0 / 3.0, 1.0, 0.5), "0000FF");
        assert_eq!(hex(1.0 / 6.0, 1.0, 0.5), "FFFF00");
        assert_eq!(hex(0.5, 1.0, 0.75), "80FFFF");
        assert_eq!(hex(0.3, 0.0, 0.5), "808080");
    }

    /// Back from `#RRGGBB` to saturation and lightness, the long way round.
    fn saturation_and_lightness(hex: &str) -> (f64, f64) {
        let part = |at: usize| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        let parts = [part(1), part(3), part(5)];
        let (low, high) = parts.iter().fold((1.0, 0.0), |(low, high): (f64, f64), one| (low.min(*one), high.max(*one)));
        let lightness = f64::midpoint(high, low);
        ((high - low) / (1.0 - (2.0 * lightness - 1.0).abs()), lightness)
    }

    proptest! {
        #[test]
        fn every_colour_fits_the_pattern_and_the_ranges(hue in 0.0..=1.0, saturation in 0.0..=1.0, lightness in 0.0..=1.0) {
            let colour = bright(&Limits::default(), [hue, saturation, lightness]);
            let pattern = regex::Regex::new("^#[0-9A-Fa-f]{6}$").unwrap();
            prop_assert!(pattern.is_match(&colour));
            let (saturation, lightness) = saturation_and_lightness(&colour);
            prop_assert!((0.68..=1.02).contains(&saturation), "{} {}", colour, saturation);
            prop_assert!((0.495..=0.705).contains(&lightness), "{} {}", colour, lightness);
        }
    }
}
